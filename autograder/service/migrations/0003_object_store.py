from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('service', '0002_platforms'),
    ]

    operations = [
        migrations.AlterField(
            model_name='blob',
            name='data',
            field=models.BinaryField(null=True),
        ),
    ]
