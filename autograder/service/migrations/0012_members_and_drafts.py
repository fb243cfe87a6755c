import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('service', '0011_simplify_marking'),
    ]

    operations = [
        migrations.AddField(
            model_name='account',
            name='access_number',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='member',
            name='removed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='offer',
            name='uploaded',
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name='OpenedAssignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('student', models.CharField(max_length=128)),
                ('at', models.DateTimeField()),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='openings', to='service.offer')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('offer', 'student'), name='opened_assignment')],
            },
        ),
        migrations.CreateModel(
            name='Draft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('assignment', models.CharField(max_length=128)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('full', models.BooleanField(default=False)),
                ('state', models.CharField(default='waiting', max_length=8)),
                ('queued_at', models.DateTimeField()),
                ('alive_at', models.DateTimeField(null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('done', models.PositiveIntegerField(default=0)),
                ('total', models.PositiveIntegerField(default=0)),
                ('findings', models.JSONField(default=list)),
                ('settled', models.CharField(blank=True, max_length=9)),
                ('archive', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='service.blob')),
                ('base', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='service.version')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('course', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='drafts', to='service.courserecord')),
                ('version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='service.version')),
            ],
        ),
    ]
