from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('service', '0015_lti'),
    ]

    operations = [
        migrations.AddField(
            model_name='draft',
            name='archive_name',
            field=models.CharField(blank=True, default='', max_length=255),
            preserve_default=False,
        ),
    ]
